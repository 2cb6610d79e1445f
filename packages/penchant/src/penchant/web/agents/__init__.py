"""Agents: the service for language models, by the Model Context Protocol at ``/-/mcp``, off by default.

Tools are made of the operations of the interface, so that a tool may do what its key may, and nothing else.
"""

from penchant.web.agents.serving import agent_operations as agent_operations
