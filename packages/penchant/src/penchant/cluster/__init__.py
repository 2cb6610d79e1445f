"""Cluster: work over everybody, cut into ranges, done by processes of this machine or of a Ray cluster.

    WorkPlan --ranges--> Executor --parts, in any order--> WorkFolder --> one output

A range is done by a pure function of the plan's files and of where the range begins and ends. So it does not matter who
does it, nor how often: the output is the same bytes.
"""

from penchant.cluster.executor import Executor, Files, Work, WorkPlan, executor_of, require_executor
from penchant.cluster.work_folder import Manifest, StoredPlan, WorkFolder

__all__ = ["Executor", "Files", "Manifest", "StoredPlan", "Work", "WorkFolder", "WorkPlan"]
__all__ += ["executor_of", "require_executor"]
