// The colours of groups. Colours are classes of the style sheet (those of Okabe and Ito, which colour-blind readers
// can distinguish); groups beyond the seven most chosen are grey.

export const COLOURS = 7;
export const OTHER = "c-other";

/** Return a function from group names to colour classes that keeps colours while the most chosen groups change. */
export function colourBook() {
  const given = new Map();
  return {
    /** Give colours to the groups of a state: {group, decisions} in declared order. */
    update(groups) {
      const ranked = [...groups].sort((a, b) => b.decisions - a.decisions).slice(0, COLOURS);
      const coloured = new Set((groups.length <= COLOURS ? groups : ranked).map((one) => one.group));
      for (const name of given.keys()) if (!coloured.has(name)) given.delete(name);
      const used = new Set(given.values());
      const free = Array.from({ length: COLOURS }, (_, i) => `c-${i}`).filter((one) => !used.has(one));
      for (const { group } of groups) if (coloured.has(group) && !given.has(group)) given.set(group, free.shift());
    },
    of: (group) => given.get(group) ?? OTHER,
    coloured: () => [...given.keys()],
  };
}
