import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  Outlet,
} from '@tanstack/react-router'
import { z } from 'zod'
import { NotFound } from './NotFound'
import { ProjectsPage } from './ProjectsPage'
import { Shell } from './Shell'

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound })

const projects = createRoute({ getParentRoute: () => root, path: '/', component: ProjectsPage })

const project = createRoute({ getParentRoute: () => root, path: '/projects/$projectId', component: Shell })

const index = createRoute({
  getParentRoute: () => project,
  path: '/',
  component: () => <Navigate from={project.fullPath} to="/projects/$projectId/documents" replace />,
})

const documents = createRoute({
  getParentRoute: () => project,
  path: '/documents',
  component: lazyRouteComponent(() => import('./pages'), 'DocumentsPage'),
})

const match = z.object({ start: z.number().optional().catch(undefined), end: z.number().optional().catch(undefined) })

const document = createRoute({
  getParentRoute: () => project,
  path: '/documents/$documentId',
  validateSearch: match,
  component: lazyRouteComponent(() => import('./DocumentPage'), 'DocumentPage'),
})

const tables = createRoute({
  getParentRoute: () => project,
  path: '/tables',
  component: lazyRouteComponent(() => import('./builder'), 'TablesPage'),
})

const table = createRoute({
  getParentRoute: () => project,
  path: '/tables/$tableId',
  component: lazyRouteComponent(() => import('./builder'), 'OneTablePage'),
})

const scope = z.object({
  table: z.number().optional().catch(undefined),
  pointer: z.string().optional().catch(undefined),
})

const tools = createRoute({
  getParentRoute: () => project,
  path: '/tools',
  validateSearch: scope,
  component: lazyRouteComponent(() => import('./builder'), 'ToolsPage'),
})

const tool = createRoute({
  getParentRoute: () => project,
  path: '/tools/$toolId',
  component: lazyRouteComponent(() => import('./builder'), 'PlaygroundPage'),
})

const endpoints = createRoute({
  getParentRoute: () => project,
  path: '/endpoints',
  component: lazyRouteComponent(() => import('./builder'), 'EndpointsPage'),
})

const retrieval = createRoute({
  getParentRoute: () => project,
  path: '/retrieval',
  component: lazyRouteComponent(() => import('./builder'), 'RetrievalPage'),
})

const status = createRoute({
  getParentRoute: () => project,
  path: '/status',
  component: lazyRouteComponent(() => import('./builder'), 'StatusPage'),
})

export const router = createRouter({
  routeTree: root.addChildren([
    projects,
    project.addChildren([index, documents, document, tables, table, tools, tool, endpoints, retrieval, status]),
  ]),
  defaultPreload: false,
  scrollRestoration: false,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
