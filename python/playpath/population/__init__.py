"""Populations: answers for many paths and viewers instead of one replay of one path."""

from playpath.population.answer import PopulationResult
from playpath.population.intervals import Estimate
from playpath.population.play import population
from playpath.population.spec import Population, is_population, load_population
from playpath.population.versus import Versus

__all__ = ["Estimate", "Population", "PopulationResult", "Versus", "is_population", "load_population", "population"]
