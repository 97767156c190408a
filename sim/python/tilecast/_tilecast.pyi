# The compiled part: what the package hands on; the rest is its own.
from typing import Any, List, Optional

class Error(ValueError):
    file: Optional[str]
    line: Optional[int]
    column: Optional[int]

def devices() -> List[str]: ...
def __getattr__(name: str) -> Any: ...
