"""Documents below ``/-/docs``: the project's documents and an API reference, as pages for people.

Rendered from the packaged Markdown and the OpenAPI document when first asked for, kept from then on. Never loads
anything from elsewhere, never runs a script, and knows nothing of requests, sources and keys.
"""
