import { getSchema } from '@tiptap/core'
import { Node } from '@tiptap/pm/model'
import StarterKit from '@tiptap/starter-kit'
import { describe, expect, test } from 'vitest'
import { contentAsLines, inSource, linesAsContent, rangeIn, runsOf } from './positions'

const schema = getSchema([StarterKit])
const textAt = (document: Node, range: { from: number; to: number } | null) =>
  range && document.textBetween(range.from, range.to, '\n')

describe('positions in the editor', () => {
  test('lines survive the way into the editor and back, empty ones and emoji included', () => {
    const text = '第一行 😀\n\nsecond\n\n\nlast\n'
    expect(contentAsLines(Node.fromJSON(schema, linesAsContent(text)))).toBe(text)
  })

  test('a match in marked text and lists is found at its exact place', () => {
    const document = Node.fromJSON(schema, {
      type: 'doc',
      content: [
        { type: 'heading', attrs: { level: 1 }, content: [{ type: 'text', text: '灯塔 😀' }] },
        {
          type: 'paragraph',
          content: [
            { type: 'text', text: 'The ' },
            { type: 'text', marks: [{ type: 'bold' }], text: 'keeper' },
            { type: 'text', text: ' left the tower.' },
          ],
        },
        {
          type: 'bulletList',
          content: [
            { type: 'listItem', content: [{ type: 'paragraph', content: [{ type: 'text', text: 'keeper again' }] }] },
          ],
        },
      ],
    })
    const text = '灯塔 😀\n\nThe keeper left the tower.\n\nkeeper again'
    const runs = runsOf(document, text)
    for (const wanted of ['keeper left', '塔 😀', 'keeper again']) {
      const start = text.indexOf(wanted)
      expect(textAt(document, rangeIn(runs, start, start + wanted.length))).toBe(wanted)
    }
    expect(rangeIn(runs, 5, 5)).toBeNull()
  })

  test('of several equal places in the source the nearest one is taken', () => {
    const source = '# Sea\n\n**sea** and [sea](http://sea) far away the sea'
    const text = 'Sea\n\nsea and sea far away the sea'
    const last = text.lastIndexOf('sea')
    expect(inSource(text, source, last, last + 3)).toEqual([source.lastIndexOf('sea'), source.length])
    expect(inSource(text, source, 0, 0)).toBeNull()
    expect(inSource('gone', 'source', 0, 4)).toBeNull()
  })
})
