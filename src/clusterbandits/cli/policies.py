"""``clusterbandits policies``: what there is to choose from."""

from clusterbandits.cli.options import Json
from clusterbandits.cli.show import show


def policies(json: Json = False) -> None:
    """List all policies: what each needs, what is known of its regret, and whose it is."""
    from clusterbandits.policies.registry import catalogue, catalogue_table
    from clusterbandits.serial import to_json

    show(to_json(catalogue(), indent=2) if json else catalogue_table().text())
