/** The addresses of the client's pages. */
export function address(projectId: number) {
  const project = `/projects/${projectId}`
  return {
    documents: `${project}/documents`,
    document: (id: number) => `${project}/documents/${id}`,
    match: (id: number, start: number, end: number) => `${project}/documents/${id}?start=${start}&end=${end}`,
    tables: `${project}/tables`,
    table: (id: number) => `${project}/tables/${id}`,
    tools: `${project}/tools`,
    newTool: (tableId: number, pointer: string) =>
      `${project}/tools?table=${tableId}&pointer=${encodeURIComponent(JSON.stringify(pointer))}`,
    tool: (id: number) => `${project}/tools/${id}`,
    endpoints: `${project}/endpoints`,
    retrieval: `${project}/retrieval`,
    status: `${project}/status`,
  }
}
