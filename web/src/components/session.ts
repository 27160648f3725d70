import { createContext, useContext } from 'react'

export type Role = 'read' | 'write' | 'admin' | 'owner'
const ORDER: readonly Role[] = ['read', 'write', 'admin', 'owner']

/** Who is signed in. */
export interface Caller {
  readonly role: Role
  readonly name: string
  readonly projectId: number | null
  readonly version: string
}

const NOBODY: Caller = { role: 'owner', name: 'owner', projectId: null, version: '' }
export const CallerContext = createContext<Caller>(NOBODY)

export function useCaller(): Caller {
  return useContext(CallerContext)
}

/** Returns whether the caller has at least this role. What a key may not do is not offered. */
export function useMay(role: Role): boolean {
  return ORDER.indexOf(useCaller().role) >= ORDER.indexOf(role)
}
