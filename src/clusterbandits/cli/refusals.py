"""Errors on the command line: they name options, arguments and files, never Python parameters."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

from clusterbandits.errors import LONGEST_MESSAGE, InvalidInputError
from clusterbandits.wording import did_you_mean, escaped, shortened, without_middle

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN = 60
#: Parameters of the library whose option or argument has another name.
_ALIASES = {"policies": "policy", "address": "dask", "figures": "figure"}
#: What refuses the content of a problem, whose parameters are words that users know.
_OF_PROBLEMS = {"Instance", "Clusters"}
#: How Typer and older Clicks begin their sentences, and how ours do.
_PHRASES = {
    "Input should be a valid integer, unable to parse string as an integer": "must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "must be a number",
    "Input should be greater than or equal to ": "must be at least ",
    "Input should be less than or equal to ": "must be at most ",
    "Input should be ": "must be ",
}


class Command(TyperCommand):
    """A command whose errors name its options."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except InvalidInputError as error:
            raise _of_command(error, ctx) from error


class Group(TyperGroup):
    """A group of commands that is a command itself, whose errors name its options."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was chosen, or the group itself."""
        try:
            return super().invoke(ctx)
        except InvalidInputError as error:
            raise _of_command(error, ctx) from error


def _of_command(error: InvalidInputError, context: Any) -> InvalidInputError:
    """Return the error with the name that its parameter has on the command line."""
    if not error.requirement:
        return error
    own = error.owner in {context.info_name, "the command"}
    # An option that was not given cannot be wrong: the parameter has its value from a file.
    given = {
        str(param.name): param
        for param in context.command.params
        if own or (context.params.get(param.name) is not None and not getattr(param, "is_flag", False))
    }
    found = given.get(_ALIASES.get(error.parameter, error.parameter))
    subject = _setting_of(error, found is None)
    if subject is None and found is not None:
        subject = _written(found)
    elif subject is None and error.owner in _OF_PROBLEMS and "problem" in given:
        subject = error.parameter.capitalize()
    elif subject is None and own:
        subject = error.parameter
    return error if subject is None else InvalidInputError(error.naming(subject))


def _setting_of(error: InvalidInputError, families: bool) -> str | None:
    """Return how a setting of a policy, or a parameter of a family, is written; None for anything else."""
    kinds_of = [("clusterbandits.policies", "POLICIES", "--policy")]
    kinds_of += [("clusterbandits.families", "FAMILIES", "--family")] if families else []
    for module, kinds, option in kinds_of:
        # What was not imported cannot have raised the error.
        for name, kind in getattr(sys.modules.get(module), kinds, {}).items():
            if kind.__name__ == error.owner and error.parameter not in {"clusters", "label", "family"}:
                return f"{option} {name}: {error.parameter}"
    return None


def _written(param: Any) -> str:
    """Return an option as ``--widths``, an argument as the help shows it."""
    if param.param_type_name == "argument":
        return str(param.metavar or param.name.upper())
    return str(max(param.opts, key=len))


def usage_sentence(error: Any, arguments: Sequence[str]) -> str:
    """Return what is wrong with the arguments of a command line, and where to find help."""
    context = error.ctx
    params = [] if context is None else context.command.params
    sentence = without_middle(escaped(_usage(error, params, arguments)), LONGEST_MESSAGE - 2 * _SHOWN)
    where = "" if context is None else f" Help: {context.command_path} --help"
    return f"{sentence}{'' if sentence.endswith(('.', '?')) else '.'}{where}"


def _usage(error: Any, params: Sequence[Any], arguments: Sequence[str]) -> str:
    said = str(error.format_message())
    param = getattr(error, "param", None)
    option = getattr(error, "option_name", None)
    if param is not None and (requirement := _requirement(str(error.message))):
        return f"{_written(param)} {requirement}{_given(arguments, param)}"
    if option is not None and "requires an argument" in said:
        return f"{option} needs a value"
    options = {text for each in params for text in each.opts if text.startswith("-")} | {"--help"}
    unknown = next((each for each in arguments if _looks_like_option(each, options)), None)
    if unknown is not None and ("No such option" in said or "unexpected extra argument" in said):
        name = unknown.partition("=")[0]
        words = sorted(text[2:] for text in options if text.startswith("--"))
        return f"Unknown option '{_cut(name)}'. {did_you_mean(name.lstrip('-'), words, '--')}".rstrip()
    if extra := re.search(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", said):
        return f"Unexpected argument: {_cut(extra[1])}"
    return said.replace("No such command", "Unknown command").replace("No such option:", "Unknown option")


def _requirement(message: str) -> str:
    for theirs, ours in _PHRASES.items():
        if message.startswith(theirs):
            return ours + message.removeprefix(theirs)
    return ""


def _given(arguments: Sequence[str], param: Any) -> str:
    """Return what was given for an option."""
    for place, each in enumerate(arguments):
        name, equals, value = each.partition("=")
        if name in param.opts and (equals or place + 1 < len(arguments)):
            return f", but got '{_cut(value if equals else arguments[place + 1])}'"
    return ""


def _looks_like_option(text: str, options: set[str]) -> bool:
    """Return whether an argument is an unknown option, and not a value with a minus such as -0.1."""
    name = text.partition("=")[0]
    return name.startswith("-") and name.lstrip("-")[:1].isalpha() and name not in options | {"-h"}


def _cut(text: str) -> str:
    return shortened(escaped(text), _SHOWN)
