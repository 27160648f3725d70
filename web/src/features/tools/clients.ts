/** Ready-made configuration for MCP clients, as `findspot mcp install --print` writes it. */

export const CLIENTS = ['Claude Code', 'Claude Desktop', 'Cursor', 'VS Code', 'Codex'] as const
export type McpClient = (typeof CLIENTS)[number]

const NAME = 'findspot'

export const FILES: Record<McpClient, string> = {
  'Claude Code': '~/.claude.json',
  'Claude Desktop': 'claude_desktop_config.json',
  Cursor: '~/.cursor/mcp.json',
  'VS Code': 'mcp.json',
  Codex: '~/.codex/config.toml',
}

/** Returns the text to add to a client's configuration file. */
export function configurationOf(client: McpClient, url: string, key: string): string {
  const overHttp = { url, headers: { Authorization: `Bearer ${key}` } }
  const env = { FINDSPOT_MCP_URL: url, FINDSPOT_KEY: key }
  switch (client) {
    case 'Claude Code':
      return json({ mcpServers: { [NAME]: { type: 'http', ...overHttp } } })
    case 'Claude Desktop':
      return json({ mcpServers: { [NAME]: { command: 'findspot', args: ['mcp'], env } } })
    case 'Cursor':
      return json({ mcpServers: { [NAME]: overHttp } })
    case 'VS Code':
      return json({ servers: { [NAME]: { type: 'http', ...overHttp } } })
    case 'Codex':
      return [
        `[mcp_servers.${NAME}]`,
        'command = "findspot"',
        'args = ["mcp"]',
        '',
        `[mcp_servers.${NAME}.env]`,
        ...Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`),
      ].join('\n')
  }
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2)
}
