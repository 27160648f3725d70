/** Numbers, sizes and dates as people read them. */

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 86400],
  ['month', 30 * 86400],
  ['week', 7 * 86400],
  ['day', 86400],
  ['hour', 3600],
  ['minute', 60],
]

/** Returns how long ago a time is, such as "3 days ago". */
export function relativeTime(time: string, language: string, now: number = Date.now()): string {
  const seconds = Math.min(0, (new Date(time).getTime() - now) / 1000)
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })
  for (const [unit, length] of UNITS) {
    if (-seconds >= length) return format.format(Math.ceil(seconds / length), unit)
  }
  return format.format(0, 'second')
}

export function number(value: number, language: string): string {
  return new Intl.NumberFormat(language).format(value)
}

/** Returns a number of bytes with its unit, such as "1.4 MB". */
export function bytes(value: number, language: string): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte']
  let scaled = value
  let index = 0
  while (scaled >= 1000 && index < units.length - 1) {
    scaled /= 1000
    index += 1
  }
  if (index === 0) return `${number(value, language)} B`
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit: units[index],
    unitDisplay: 'short',
    maximumFractionDigits: scaled < 10 ? 1 : 0,
  }).format(scaled)
}

/** Returns the language that most of a text is in, for the shapes of its punctuation. */
export function languageOf(text: string): 'en' | 'zh' {
  const han = text.match(/\p{Script=Han}/gu)?.length ?? 0
  return han * 5 > text.length ? 'zh' : 'en'
}
