-- Whether a price goes on overnight, by logarithms: `move` from one close to the next bar's opening, with the shares one
-- share became in between put back, and those shares, `split`. Halving or doubling is a split that is on no record; a
-- split that leaves as large a move as itself is none.
CREATE MACRO goes_on(move, split) AS
    abs(move) < ln(2) AND (abs(split) < ln(1.2) OR abs(move) < abs(split) / 2);
