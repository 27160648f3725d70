import { type RefObject, useEffect } from 'react'

/** Runs `onSeen` when the end of a list comes near the view, while `active`. */
export function useEndInView(end: RefObject<Element | null>, active: boolean, onSeen: () => void) {
  useEffect(() => {
    const seen = end.current
    if (!seen || !active) return
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && onSeen(), { rootMargin: '300px' })
    observer.observe(seen)
    return () => observer.disconnect()
  }, [end, active, onSeen])
}
