"""Drafts as JSON: the edits that one holds, as they come and are kept, and what is answered of drafts."""
