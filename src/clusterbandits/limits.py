"""Upper limits on sizes: what is larger is refused before memory is taken for it."""

#: Whole numbers up to here are floats without loss.
MOST_ROUNDS = 10**15
#: Means up to here, and their squares, stay inside floats: the end of domains that have no other.
LARGEST_MEAN = 1e100
#: As large as the entropy NumPy draws for a seed of its own.
LARGEST_SEED = 2**128 - 1
#: The most arms of clusters, and of an instance.
MOST_ARMS = 100_000
#: The most arms of a table, of a log, and of a drawn instance.
MOST_TABLE_ARMS = 10_000
#: The most numbers in one result, or in what a policy keeps: 800 MB.
MOST_NUMBERS = 10**8
#: The most rows in a table of results.
MOST_ROWS = 10**7
#: The most independent runs of a simulation.
MOST_RUNS = 10**6
#: The most bytes of a file that is read as a whole: a problem or a study.
MOST_BYTES = 10**7
