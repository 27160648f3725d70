import type { AssembledContext, Retrieval } from '../../api'

/** Answers for stories and tests. */
export const RETRIEVAL: Retrieval = {
  chunks: [
    {
      documentId: 1,
      documentTitle: 'The lighthouse',
      path: null,
      line: null,
      headingPath: ['Part one'],
      chunkId: 11,
      chunkIds: [11, 12],
      text: '😀 Write to [EMAIL_1] about the lamp, or to [EMAIL_2].',
      score: 0.71,
      startOffset: 0,
      endOffset: 60,
      tokens: 24,
      reason: 'It matches by keyword and by meaning.',
      redactions: [
        { kind: 'email', placeholder: '[EMAIL_1]', startOffset: 11, endOffset: 30 },
        { kind: 'email', placeholder: '[EMAIL_2]', startOffset: 50, endOffset: 60 },
      ],
      hiddenCharacters: [],
    },
    {
      documentId: 2,
      documentTitle: '灯塔日记',
      path: null,
      line: null,
      headingPath: [],
      chunkId: 21,
      chunkIds: [21],
      text: '守塔人林远在雾里听见了钟声。',
      score: 0.48,
      startOffset: 0,
      endOffset: 14,
      tokens: 15,
      reason: '按语义匹配。',
      redactions: [],
      hiddenCharacters: [],
    },
  ],
  usedTokens: 39,
  maxTokens: 400,
  truncated: true,
  dropped: [
    { chunkId: 31, reason: 'budget' },
    { chunkId: 32, reason: 'duplicate' },
  ],
  redactions: { email: 2 },
  fallback: 'none',
  tookMs: 12,
}

export const CONTEXT: AssembledContext = {
  layers: [
    { name: 'rules', text: 'Answer briefly.', tokens: 4, sources: [] },
    { name: 'settings', text: '', tokens: 0, sources: [] },
    { name: 'retrieved', text: RETRIEVAL.chunks[1]?.text ?? '', tokens: 15, sources: [] },
    { name: 'immediate', text: '林远走进港口。', tokens: 8, sources: [] },
  ],
  totalTokens: 30,
  maxTokens: 200,
  stablePrefixHash: '9f2c41aa',
  warnings: [{ code: 'LAYER_TRIMMED', message: 'The layer was cut to its budget.', layer: 'immediate' }],
}
