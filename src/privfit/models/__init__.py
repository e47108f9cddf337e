"""Published models as plain data: target, link and weights; and the registry of kinds of models.

Nothing is imported here, because `import privfit` imports `privfit.models.converters`, and has to be fast.
"""
