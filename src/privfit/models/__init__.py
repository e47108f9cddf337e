"""A model as plain data: what it predicts, by which link, its weights; which kinds there are.

Nothing is imported here, because `import privfit` passes through this package on its way to `converters`.
"""
