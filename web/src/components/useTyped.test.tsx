import { act, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { useTyped } from './useTyped'

function Probe() {
  const { settled, field } = useTyped()
  return (
    <>
      <input aria-label="query" {...field} />
      <output>{settled}</output>
    </>
  )
}

const wait = () => act(() => vi.advanceTimersByTime(1000))
const typed = (value: string) => fireEvent.change(screen.getByLabelText('query'), { target: { value } })

beforeEach(() => {
  vi.useFakeTimers()
  render(<Probe />)
})
afterEach(() => vi.useRealTimers())

test('a text settles after a pause', () => {
  typed('light')
  expect(screen.getByRole('status').textContent).toBe('')
  wait()
  expect(screen.getByRole('status').textContent).toBe('light')
})

test('nothing settles while an input method composes, and the final text settles afterwards', () => {
  const field = screen.getByLabelText('query')
  typed('a')
  fireEvent.compositionStart(field)
  for (const value of ['al', 'ali', 'a林']) {
    typed(value)
    wait()
    expect(screen.getByRole('status').textContent).toBe('')
  }
  fireEvent.compositionEnd(field, { target: { value: 'a林远' } })
  wait()
  expect(screen.getByRole('status').textContent).toBe('a林远')
})
