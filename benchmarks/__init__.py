"""Speed: `side_by_side` with other engines (`peers`), on the same `models`; see README.md."""
