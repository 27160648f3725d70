import { act, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Frame } from '../testing/Frame'
import { Dialog } from './Dialog'
import { Navigate, PageLink } from './PageLink'
import { Diff } from './Text'
import { TOAST_MS, useToast } from './Toast'

function Deleter({ gone, undone }: { gone: () => void; undone: () => void }) {
  const toast = useToast()
  const show = () => toast({ text: 'Deleted', action: { label: 'Undo', run: undone }, onGone: gone })
  return (
    <button type="button" onClick={show}>
      Delete
    </button>
  )
}

describe('a toast', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => vi.useRealTimers())

  test('runs what it announced when its time is over, once', () => {
    const gone = vi.fn()
    render(<Deleter gone={gone} undone={vi.fn()} />, { wrapper: Frame })
    fireEvent.click(screen.getByText('Delete'))
    act(() => vi.advanceTimersByTime(TOAST_MS - 1))
    expect(gone).not.toHaveBeenCalled()
    act(() => vi.advanceTimersByTime(1))
    window.dispatchEvent(new Event('pagehide'))
    expect(gone).toHaveBeenCalledOnce()
  })

  test('waits while it has the focus or the pointer', () => {
    const gone = vi.fn()
    render(<Deleter gone={gone} undone={vi.fn()} />, { wrapper: Frame })
    fireEvent.click(screen.getByText('Delete'))
    act(() => screen.getByText('Undo').focus())
    act(() => vi.advanceTimersByTime(10 * TOAST_MS))
    expect(gone).not.toHaveBeenCalled()
    act(() => screen.getByText('Undo').blur())
    act(() => vi.advanceTimersByTime(TOAST_MS))
    expect(gone).toHaveBeenCalledOnce()
  })

  test('runs its action instead when asked to', () => {
    const gone = vi.fn()
    const undone = vi.fn()
    render(<Deleter gone={gone} undone={undone} />, { wrapper: Frame })
    fireEvent.click(screen.getByText('Delete'))
    fireEvent.click(screen.getByText('Undo'))
    act(() => vi.advanceTimersByTime(2 * TOAST_MS))
    expect([undone.mock.calls.length, gone.mock.calls.length]).toEqual([1, 0])
  })

  test('runs what it announced when the page is left', () => {
    const gone = vi.fn()
    render(<Deleter gone={gone} undone={vi.fn()} />, { wrapper: Frame })
    fireEvent.click(screen.getByText('Delete'))
    window.dispatchEvent(new Event('pagehide'))
    expect(gone).toHaveBeenCalledOnce()
  })
})

test('a dialog gives the focus back to where it was', () => {
  const opener = document.createElement('button')
  document.body.append(opener)
  opener.focus()
  const { unmount } = render(
    <Frame>
      <Dialog title="One" onClose={() => undefined}>
        <input aria-label="name" />
      </Dialog>
    </Frame>,
  )
  expect(document.activeElement).toBe(screen.getByLabelText('name'))
  unmount()
  expect(document.activeElement).toBe(opener)
  opener.remove()
})

test('a link of the client is followed without loading the page, unless a modifier key is held', () => {
  const went = vi.fn()
  render(
    <Navigate value={went}>
      <PageLink to="/projects/1">Open</PageLink>
    </Navigate>,
  )
  const kept = (event: Event) => event.preventDefault() // jsdom cannot load pages
  window.addEventListener('click', kept)
  fireEvent.click(screen.getByText('Open'), { ctrlKey: true })
  expect(went).not.toHaveBeenCalled()
  fireEvent.click(screen.getByText('Open'))
  expect(went).toHaveBeenCalledExactlyOnceWith('/projects/1')
  window.removeEventListener('click', kept)
})

test('a difference shows what changed and cuts long unchanged stretches', () => {
  const long = '雾'.repeat(1000)
  const { container } = render(
    <Frame>
      <Diff
        changes={[
          { op: 'equal', text: long },
          { op: 'delete', text: 'red' },
          { op: 'insert', text: 'green 😀' },
        ]}
      />
    </Frame>,
  )
  expect(container.querySelector('del')?.textContent).toBe('red')
  expect(container.querySelector('ins')?.textContent).toBe('green 😀')
  expect(container.textContent).toContain('840 unchanged characters')
})
