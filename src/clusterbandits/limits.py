"""Upper limits on sizes, which are checked before memory is allocated."""

#: The largest number of rounds; floats represent integers up to it exactly.
MOST_ROUNDS = 10**15
#: The largest mean of families without an upper limit; floats can represent its square.
LARGEST_MEAN = 1e100
#: The largest random seed, as large as the entropy that NumPy draws for a seed.
LARGEST_SEED = 2**128 - 1
#: The largest number of arms in clusters or an instance.
MOST_ARMS = 100_000
#: The largest number of arms in a table, a log or a random instance.
MOST_TABLE_ARMS = 10_000
#: The largest number of values in one result, or in the state of a policy (800 MB).
MOST_NUMBERS = 10**8
#: The largest number of rows in a table of results.
MOST_ROWS = 10**7
#: The largest number of independent runs of a simulation.
MOST_RUNS = 10**6
#: The largest size in bytes of a file with an instance or a study.
MOST_BYTES = 10**7
