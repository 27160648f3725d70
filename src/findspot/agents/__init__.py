"""What may an agent do with a project's data?"""
