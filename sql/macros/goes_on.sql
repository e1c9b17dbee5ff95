-- Whether a price goes on overnight, by logarithms: `move` from one close to the next bar's opening and `traded` from one
-- bar's volume to the next one's, both with the shares one share became in between put back, and those shares, `split`.
-- The same numbers as in assets.splits. A move as large as a 3:2 split's, less a tenth for the night, may be a split that
-- is on no record. It is the market's where three times as many shares, for three times as much money, were traded: a
-- split changes neither. Volumes that are not known prove nothing, and none explains a move beyond a 2:1 split's. A split
-- that leaves as large a move as itself is none.
CREATE MACRO goes_on(move, split, traded) AS
    (abs(move) < ln(1.35) OR (abs(move) < ln(2.2) AND coalesce(least(traded, traded + move) >= ln(3), false)))
    AND (abs(split) < ln(1.2) OR abs(move) < abs(split) / 2);
