"""Typed dictionaries for writing documents in Python: `Path(rate="20 Mbit/s", rtt="50 ms")`.

There is a class for each declared table. Type checkers read `document.pyi`, which the build generates from the same
declarations (`tools/typed_forms.py`).
"""

from typing import Any, TypedDict

from playpath.scenario import keys

for _name, _table in keys.tables().items():
    _fields = {key["name"]: Any for key in keys.table_keys(_name)}
    _class = globals()[keys.class_name(_name)] = TypedDict(keys.class_name(_name), _fields, total=False)
    _class.__doc__ = _table["doc"]
