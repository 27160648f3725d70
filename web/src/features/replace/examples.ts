import type { PastReplace, ReplacePreview } from '../../api'

/** A preview and past replaces for stories and tests. */
export const PREVIEW: ReplacePreview = {
  previewId: 5,
  affectedDocuments: 2,
  totalMatches: 3,
  page: 1,
  hasMore: false,
  needsConfirmedRisk: false,
  expiresAt: '2026-11-17T23:00:00Z',
  skipped: [],
  notice: '',
  items: [
    {
      documentId: 1,
      documentTitle: 'The warehouse 😀',
      matchCount: 2,
      changed: false,
      matches: [
        { start: 4, end: 13, before: 'Warehouse', after: 'Factory', leading: 'The ', trailing: ' stood empty.' },
        { start: 40, end: 49, before: 'warehouse', after: 'factory', leading: 'Nobody entered the ', trailing: '.' },
      ],
    },
    {
      documentId: 2,
      documentTitle: '废弃仓库',
      matchCount: 1,
      changed: false,
      matches: [{ start: 2, end: 6, before: '废弃仓库', after: '荒废工厂', leading: '那座', trailing: '在河边。' }],
    },
  ],
}

export const PAST: PastReplace[] = [
  {
    previewId: 4,
    search: '废弃仓库',
    replace: '荒废工厂',
    caseSensitive: false,
    wholeWord: false,
    regex: false,
    preserveCase: false,
    scope: 'project',
    documentId: null,
    replacedCount: 7,
    affectedDocumentCount: 3,
    undoableDocumentCount: 3,
    executedAt: '2026-11-17T11:00:00Z',
    executedBy: 'owner',
    undoneAt: null,
    undoneBy: null,
  },
  {
    previewId: 3,
    search: 'colour',
    replace: 'color',
    caseSensitive: true,
    wholeWord: true,
    regex: false,
    preserveCase: false,
    scope: 'document',
    documentId: 1,
    replacedCount: 2,
    affectedDocumentCount: 1,
    undoableDocumentCount: 0,
    executedAt: '2026-11-16T11:00:00Z',
    executedBy: 'owner',
    undoneAt: '2026-11-16T12:00:00Z',
    undoneBy: 'owner',
  },
]
