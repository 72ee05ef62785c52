"""Train on ordinal numbers with an ordinary boosting library, and put the thresholds back in raw units."""
