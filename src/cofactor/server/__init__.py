"""Models behind HTTP: questions come in as JSON, a task answers them, answers go out as JSON.

================  ==============================================================
`application`     the ASGI application of some models
`run`             serve it until a signal ends it
`Served`          a model under its name
`Limits`          the most that a request may ask for
================  ==============================================================

The server knows no files, no columns and no mathematics: it parses, asks `cofactor.tasks`, and writes. It needs the
extra ``serve``.
"""

from cofactor.server.app import application
from cofactor.server.limits import Limits
from cofactor.server.running import run
from cofactor.server.served import Served

__all__ = ["Limits", "Served", "application", "run"]
