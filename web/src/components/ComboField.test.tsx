import { fireEvent, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { expect, test, vi } from 'vitest'
import { ComboField } from './ComboField'

const OPTIONS = Array.from({ length: 10_000 }, (_, at) => ({ value: at + 1, label: `Chapter ${at} 第${at}章` }))

function show(chosen?: number) {
  const onChange = vi.fn()
  const onEscape = vi.fn()
  function Choosing() {
    const [value, setValue] = useState(chosen)
    const change = (next: number | undefined) => {
      onChange(next)
      setValue(next)
    }
    return (
      // biome-ignore lint/a11y/noStaticElementInteractions: stands for a panel that Escape closes
      <div onKeyDown={(event) => event.key === 'Escape' && onEscape()}>
        <ComboField label="Document" any="All" none="Nothing" options={OPTIONS} value={value} onChange={change} />
      </div>
    )
  }
  render(<Choosing />)
  const field = screen.getByRole<HTMLInputElement>('combobox', { name: 'Document' })
  return { field, onChange, onEscape, user: userEvent.setup() }
}

const suggested = () => screen.queryAllByRole('option').map((each) => each.textContent)
const marked = () => screen.getByRole('option', { selected: true })

test.each([
  ['ter 9999', 'Chapter 9999 第9999章'],
  ['第777章', 'Chapter 777 第777章'],
])('typing “%s”, a part of a label, suggests it, and Enter chooses it', async (part, label) => {
  const { field, onChange, user } = show()
  await user.type(field, part)
  expect(suggested()).toEqual([label])
  await user.keyboard('{Enter}')
  expect(onChange).toHaveBeenCalledExactlyOnceWith(OPTIONS.find((each) => each.label === label)?.value)
  expect(field.value).toBe(label)
  expect(suggested()).toEqual([])
})

test('at most 20 of 10,000 labels are suggested, and the arrow keys go round among them', async () => {
  const { field, onChange, user } = show()
  await user.type(field, 'chapter')
  expect(suggested()).toHaveLength(20)
  expect(field.getAttribute('aria-expanded')).toBe('true')
  await user.keyboard('{ArrowUp}')
  expect(marked().textContent).toBe('Chapter 19 第19章')
  await user.keyboard('{ArrowDown}{ArrowDown}')
  expect(field.getAttribute('aria-activedescendant')).toBe(marked().id)
  await user.keyboard('{Enter}')
  expect(onChange).toHaveBeenCalledExactlyOnceWith(2)
})

test('a click on a suggestion chooses it', async () => {
  const { field, onChange, user } = show()
  await user.type(field, '第42')
  await user.click(screen.getByRole('option', { name: 'Chapter 42 第42章' }))
  expect(onChange).toHaveBeenCalledExactlyOnceWith(43)
})

test('Escape first closes the suggestions and keeps the choice, then reaches what is around the field', async () => {
  const { field, onChange, onEscape, user } = show(8)
  await user.type(field, ' x')
  await user.keyboard('{Escape}')
  expect([field.value, onEscape.mock.calls.length]).toEqual(['Chapter 7 第7章', 0])
  await user.keyboard('{Escape}')
  expect(onEscape).toHaveBeenCalledOnce()
  expect(onChange).not.toHaveBeenCalled()
})

test('the choice is taken back with the first suggestion, or by emptying the field', async () => {
  const { field, onChange, user } = show(8)
  await user.click(field)
  expect(suggested()[0]).toBe('All')
  await user.keyboard('{Enter}')
  expect([field.value, onChange.mock.lastCall]).toEqual(['', [undefined]])
  await user.type(field, '第7章{Enter}')
  await user.clear(field)
  expect(onChange.mock.calls).toEqual([[undefined], [8], [undefined]])
})

test('words that no label has are reported, and leaving the field forgets them', async () => {
  const { field, onChange, user } = show(8)
  await user.clear(field)
  onChange.mockClear()
  await user.type(field, '灯塔')
  expect(screen.getByRole('status').textContent).toBe('Nothing')
  await user.keyboard('{ArrowDown}{Enter}')
  await user.tab()
  expect([field.value, screen.getByRole('status').textContent]).toEqual(['', ''])
  expect(onChange).not.toHaveBeenCalled()
})

test('Enter belongs to the input method while it composes', async () => {
  const { field, onChange, user } = show()
  await user.type(field, '第7章')
  fireEvent.keyDown(field, { key: 'Enter', keyCode: 229 })
  expect(onChange).not.toHaveBeenCalled()
  expect(suggested()).not.toEqual([])
})
