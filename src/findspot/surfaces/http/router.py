"""Routers whose every route is guarded."""

from fastapi import APIRouter

from findspot.surfaces.http.access import GuardedRoute


def router(tag: str) -> APIRouter:
    return APIRouter(route_class=GuardedRoute, tags=[tag])
