"""Single values: Python objects ⇄ the bytes of a tuple or of a BIND parameter.

`codes` names the types, `base100` packs the digits that DECIMAL, DATETIME and INTERVAL share, `decode` holds one
function per type for bytes from a row, `encode` one per Python type for parameters, `tupleform` the encoders of
insert-cursor rows.
"""
