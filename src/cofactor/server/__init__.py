"""Models behind HTTP: questions come in as JSON, a service answers them, answers go out as JSON.

================  ==============================================================
`application`     the ASGI application of some models
`run`             serve it until a signal ends it, with processes that share models
`Served`          a model under its name
`ModelFile`       the file of a model, which is read again when it changes
`Limits`          the most that a request may ask for
`Access`, `Keys`  who may ask
================  ==============================================================

The server knows no columns and no mathematics: it parses, asks `cofactor.service`, and writes. It needs the extra
``serve``.
"""

from cofactor.server.app import application
from cofactor.server.auth import Access, Keys, served_hosts
from cofactor.server.operations import Limits
from cofactor.server.supervisor import run
from cofactor.service.served import ModelFile, Served

__all__ = ["Access", "Keys", "Limits", "ModelFile", "Served", "application", "run", "served_hosts"]
