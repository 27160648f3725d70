import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { SaveQueue, type SaveState, type Send } from './saving'

class Stale extends Error {}
class Refused extends Error {}

function queue(send: Send) {
  const states: SaveState[] = []
  const made = new SaveQueue({
    send,
    revision: 1,
    isConflict: (error) => error instanceof Stale,
    isRefused: (error) => error instanceof Refused,
    onState: (state) => states.push(state),
  })
  return { queue: made, states }
}

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

describe('saving', () => {
  test('many edits become one request with the newest content', async () => {
    const send = vi.fn<Send>().mockResolvedValue(2)
    const { queue: saving, states } = queue(send)
    for (const text of ['a', 'ab', 'abc']) saving.edited(() => text)
    await vi.runAllTimersAsync()
    expect(send).toHaveBeenCalledExactlyOnceWith({ content: 'abc' }, 1)
    expect(states).toEqual(['waiting', 'saving', 'saved'])
  })

  test('somebody who types without a pause is saved every few seconds', async () => {
    const send = vi.fn<Send>().mockResolvedValue(2)
    const { queue: saving } = queue(send)
    for (let key = 0; key < 60; key += 1) {
      saving.edited(() => key)
      await vi.advanceTimersByTimeAsync(100)
    }
    expect(send).toHaveBeenCalledOnce()
  })

  test('saving waits until the browser is idle', async () => {
    const send = vi.fn<Send>().mockResolvedValue(2)
    let idle = () => {}
    const saving = new SaveQueue({
      send,
      revision: 1,
      isConflict: () => false,
      isRefused: () => false,
      onState: () => undefined,
      whenIdle: (run) => (idle = run),
    })
    saving.edited(() => 'x')
    await vi.runAllTimersAsync()
    expect(send).not.toHaveBeenCalled()
    idle()
    expect(send).toHaveBeenCalledOnce()
  })

  test('the content is read when it is sent, not when it is edited', async () => {
    const send = vi.fn<Send>().mockResolvedValue(2)
    const read = vi.fn(() => 'x')
    const { queue: saving } = queue(send)
    saving.edited(read)
    expect(read).not.toHaveBeenCalled()
    await vi.runAllTimersAsync()
    expect(read).toHaveBeenCalledOnce()
  })

  test('an edit during a request is sent afterwards, on the new revision', async () => {
    let finish = (_: number) => {}
    const send = vi
      .fn<Send>()
      .mockImplementationOnce(() => new Promise((resolve) => (finish = resolve)))
      .mockResolvedValue(3)
    const { queue: saving } = queue(send)
    saving.edited(() => 'one')
    await vi.advanceTimersByTimeAsync(1000)
    saving.edited(() => 'two')
    finish(2)
    await vi.runAllTimersAsync()
    expect(send.mock.calls).toEqual([
      [{ content: 'one' }, 1],
      [{ content: 'two' }, 2],
    ])
    expect(saving.isClean).toBe(true)
  })

  test('a failed request is tried again and nothing is lost', async () => {
    const send = vi.fn<Send>().mockRejectedValueOnce(new Error('offline')).mockResolvedValue(2)
    const { queue: saving, states } = queue(send)
    saving.renamed('标题')
    await vi.runAllTimersAsync()
    expect(send).toHaveBeenCalledTimes(2)
    expect(send).toHaveBeenLastCalledWith({ title: '标题' }, 1)
    expect(states).toEqual(['waiting', 'saving', 'failed', 'saving', 'saved'])
  })

  test('a refused change is kept, and sent again with the next edit only', async () => {
    const send = vi.fn<Send>().mockRejectedValueOnce(new Refused('too long')).mockResolvedValue(2)
    const { queue: saving, states } = queue(send)
    saving.edited(() => '太长 too long')
    await vi.advanceTimersByTimeAsync(60_000)
    expect(send).toHaveBeenCalledOnce()
    expect([states.at(-1), saving.isClean]).toEqual(['refused', false])
    saving.renamed('短')
    await vi.runAllTimersAsync()
    expect(send).toHaveBeenLastCalledWith({ title: '短', content: '太长 too long' }, 1)
    expect(states.at(-1)).toBe('saved')
  })

  test('what is discarded is never sent', async () => {
    const send = vi.fn<Send>().mockRejectedValue(new Error('offline'))
    const { queue: saving } = queue(send)
    saving.edited(() => 'x')
    await vi.advanceTimersByTimeAsync(1000)
    saving.discard()
    await vi.runAllTimersAsync()
    expect(send).toHaveBeenCalledOnce()
    expect(saving.isClean).toBe(true)
  })

  test('a conflict stops saving until the writer decides', async () => {
    const send = vi.fn<Send>().mockRejectedValueOnce(new Stale()).mockResolvedValue(8)
    const { queue: saving, states } = queue(send)
    saving.edited(() => 'mine')
    await vi.runAllTimersAsync()
    saving.edited(() => 'mine, longer')
    await vi.runAllTimersAsync()
    expect(send).toHaveBeenCalledOnce()
    expect(states.at(-1)).toBe('conflict')
    await saving.overwrite(7)
    expect(send).toHaveBeenLastCalledWith({ content: 'mine, longer' }, 7)
    expect(states.at(-1)).toBe('saved')
  })
})
