"""The round trip: does what a model's chat template writes into the history come back from its parsers?

    report = examine(server)             # `renderlayer pack` keeps it in `bundle.json`, as `round_trip`
    print("\\n".join(lines(report)))      # `renderlayer inspect` shows it

Assistant turns with calls of every kind are rendered as history, taken out of it, cut into the model's tokens and read
back, whole and in chunks. What comes back must be what went in, white space at the ends of texts aside. For each loss
it is told whether the template loses it, which no parser can help, or the parser misreads it; and where another pair of
parsers reads more, that is named.
"""

from renderlayer.roundtrip.examine import examine
from renderlayer.roundtrip.packed import add_round_trip, shown
from renderlayer.roundtrip.report import lines

__all__ = ["add_round_trip", "examine", "lines", "shown"]
