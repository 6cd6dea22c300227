"""What shells, a command line or a server, may ask of ratings, of labels, and of models fitted to them.

==============  ============================================================================
`Task`          one kind of data: its files, its models, how they are fitted and measured
`ModelService`  what a fitted model can be asked from outside, by files or without
`TASKS`         all tasks by name, with the options they take
`task_named`    a task by its name
`check_file`    whether there is a file, or a known data set, of a name
`sniff`         the task of a file
`task_of`       the task of a fitted model
`service_of`    the service of a fitted model, or of a pipeline that ends in one
==============  ============================================================================

Both return plain data (`cofactor.service.results`) and never print. Nothing heavy is loaded before
a task is asked for.
"""

from cofactor.service.base import TASKS, Entry, check_file, service_of, sniff, task_named, task_of
from cofactor.service.options import Option

__all__ = ["TASKS", "Entry", "Option", "check_file", "service_of", "sniff", "task_named", "task_of"]
