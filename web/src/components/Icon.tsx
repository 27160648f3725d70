import styles from './ui.module.css'

const PATHS = {
  search: 'M11 11m-6.5 0a6.5 6.5 0 1 0 13 0a6.5 6.5 0 1 0-13 0M16 16l4.5 4.5',
  document: 'M7 3.5h7l4.5 4.5v12.5H7zM14 3.5V8h4.5M10 12.5h5.5M10 16h5.5',
  markdown: 'M3.5 6.5h17v11h-17zM7 14.5v-5l2.5 3 2.5-3v5M16.5 9.5v5M14.8 12.9l1.7 1.7 1.7-1.7',
  text: 'M5 6h14M5 10h14M5 14h14M5 18h8',
  table: 'M4 5h16v14H4zM4 10h16M10 5v14',
  tool: 'M14.5 5.5a4.2 4.2 0 0 0-4 5.6L4 17.6 6.4 20l6.5-6.5a4.2 4.2 0 0 0 5.6-4l-2.7 2.2-2.6-.9-.4-2.4z',
  endpoint: 'M9 7.5H7a4.5 4.5 0 0 0 0 9h2M15 7.5h2a4.5 4.5 0 0 1 0 9h-2M8.5 12h7',
  status: 'M4 18V9M9.3 18V5M14.6 18v-7M20 18v-4',
  retrieval: 'M4 6h16M4 11h10M4 16h7M17 13.5v6M14.5 17l2.5 2.5 2.5-2.5',
  replace: 'M5 8h11l-3-3M19 16H8l3 3',
  plus: 'M12 5v14M5 12h14',
  close: 'M6 6l12 12M18 6L6 18',
  trash: 'M5 7h14M10 4h4M7 7l1 13h8l1-13M10.5 11v5.5M13.5 11v5.5',
  edit: 'M5 19l1-4L16.5 4.5l3 3L9 18zM14.5 6.5l3 3',
  history: 'M4.5 12a7.5 7.5 0 1 0 2.4-5.5M4 4.5v4h4M12 8v4.5l3 1.8',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  copy: 'M9 9h10.5v10.5H9zM5 15V4.5h10.5',
  warning: 'M12 4l9 15.5H3zM12 10v4.5M12 17v.3',
  offline: 'M3 3l18 18M5 12.5a10 10 0 0 1 4-2.4M19 12.5a10 10 0 0 0-5.5-2.8M8.5 16a5 5 0 0 1 6.5-.4M12 19.2v.1',
  clock: 'M12 12m-8 0a8 8 0 1 0 16 0a8 8 0 1 0-16 0M12 7.5V12l3 2',
  spinner: 'M12 4a8 8 0 1 1-8 8',
  menu: 'M4 7h16M4 12h16M4 17h16',
  sun: 'M12 12m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6L7 7M17 17l1.4 1.4M18.4 5.6L17 7M7 17l-1.4 1.4',
  moon: 'M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z',
  auto: 'M12 12m-8 0a8 8 0 1 0 16 0a8 8 0 1 0-16 0M12 4v16M12 8h5.5M12 12h8M12 16h5.5',
  language: 'M12 12m-8.5 0a8.5 8.5 0 1 0 17 0a8.5 8.5 0 1 0-17 0M3.5 12h17M12 3.5c3 3 3 14 0 17M12 3.5c-3 3-3 14 0 17',
  signout: 'M10 4.5H5v15h5M14 8l4 4-4 4M18 12H9',
  right: 'M9 5l7 7-7 7',
  down: 'M5 9l7 7 7-7',
  up: 'M5 15l7-7 7 7',
  filter: 'M4 6h16M7 12h10M10 18h4',
  why: 'M12 12m-8.5 0a8.5 8.5 0 1 0 17 0a8.5 8.5 0 1 0-17 0M9.5 9.5a2.5 2.5 0 1 1 3.6 2.3c-.8.4-1.1.9-1.1 1.7M12 16.6v.2',
  play: 'M8 5.5v13l11-6.5z',
  key: 'M8 15m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0M11 12l8-8M16 7l2.5 2.5M13.5 9.5l1.8 1.8',
  folder: 'M3.5 6.5h6l2 2.5h9v10h-17z',
  rebuild:
    'M5 10.500A7.500 7.500 0 0 1 18.500 8M19 4v4.500h-4.500M19 13.500A7.500 7.500 0 0 1 5.500 16M5 20v-4.500h4.500',
  undo: 'M8 5L4 9l4 4M4 9h10a5 5 0 0 1 0 10h-4',
  bold: 'M7.5 5h5.5a3.4 3.4 0 0 1 0 7H7.5zM7.5 12h6.5a3.5 3.5 0 0 1 0 7H7.5z',
  italic: 'M10 5h7M7 19h7M14 5l-4 14',
  list: 'M9 6.5h11M9 12h11M9 17.5h11M4.5 6.5v.1M4.5 12v.1M4.5 17.5v.1',
  quote: 'M6 16c2 0 3-1.500 3-4V8H5v4h2M15 16c2 0 3-1.500 3-4V8h-4v4h2',
  codeblock: 'M8 8l-4 4 4 4M16 8l4 4-4 4',
} as const

export type IconName = keyof typeof PATHS

/** A decorative line drawing; the control around it has the name. */
export function Icon({ name, spin = false }: { name: IconName; spin?: boolean }) {
  return (
    <svg
      aria-hidden="true"
      className={spin ? `${styles.icon} ${styles.spin}` : styles.icon}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
