"""Cluster: work over everybody, cut into ranges, done by processes of this machine or of a Ray cluster.

    WorkPlan --ranges--> Crew --parts, in any order--> WorkFolder --> one output

A range is done by a pure function of the plan's files and of where the range begins and ends. So it does not matter who
does it, nor how often: the output is the same bytes. `ray_node` runs this machine's node of a Ray cluster.
"""

from penchant.cluster.crew import Crew, process_crew
from penchant.cluster.dispatcher import Dispatcher
from penchant.cluster.plan import Files, Work, WorkPlan
from penchant.cluster.work_folder import Manifest, WorkFolder

__all__ = ["Crew", "Dispatcher", "Files", "Manifest", "Work", "WorkFolder", "WorkPlan", "process_crew"]
