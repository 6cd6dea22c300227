"""Tasks: what a shell may ask of ratings, or of labels.

============  =====================================================================
`Task`        the contract: read, build, fit, predict, recommend, evaluate, describe
`TASKS`       all tasks by name, with the options they take
`task_named`  a task by its name
`check_file`  whether there is a file, or a known data set, of a name
`sniff`       the task of a file
`task_of`     the task of a fitted model
`answers_of`  what answers questions to a fitted model, as those to a server
============  =====================================================================

A task returns plain data (`cofactor.tasks.plain`) and never prints. Nothing heavy is loaded before
a task is asked for.
"""

from cofactor.tasks.options import Option
from cofactor.tasks.registry import TASKS, Entry, answers_of, check_file, sniff, task_named, task_of

__all__ = ["TASKS", "Entry", "Option", "answers_of", "check_file", "sniff", "task_named", "task_of"]
