-- Whether a price series continues overnight. All three arguments are logarithms. move: from one close to the next
-- bar's open, adjusted by the split. traded: from one bar's volume to the next one's, adjusted likewise. split: the
-- shares that one share became in between. The thresholds are those of assets.splits. A move as large as a 3:2 split's,
-- less a tenth for ordinary overnight moves, may be an unrecorded split. It is a market move if three times as many
-- shares, for three times as much money, were traded, because a split changes neither. Unknown volumes prove nothing,
-- and no volume explains a move larger than a 2:1 split's. A recorded split was not executed that night if the adjusted
-- move is still at least half as large as the split.
CREATE MACRO goes_on(move, split, traded) AS
    (abs(move) < ln(1.35) OR (abs(move) < ln(2.2) AND coalesce(least(traded, traded + move) >= ln(3), false)))
    AND (abs(split) < ln(1.2) OR abs(move) < abs(split) / 2);

-- Whether an overnight move, adjusted as above, is as large as a split of this size that was recorded near it. Such a bar
-- may be of another day's basis, unless the volume explains the move. A split too small to be noticed explains nothing.
CREATE MACRO strays(move, size, traded) AS
    size >= ln(1.2) AND abs(abs(move) - size) <= size / 4
    AND NOT coalesce(least(traded, traded + move) >= ln(3) AND abs(move) < ln(2.2), false);
