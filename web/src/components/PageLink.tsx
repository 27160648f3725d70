import { type AnchorHTMLAttributes, createContext, type MouseEvent, useContext } from 'react'

/** Goes to an address of the client without loading the page anew. The app provides it. */
export const Navigate = createContext<(address: string) => void>((address) => window.location.assign(address))

export function useNavigateTo(): (address: string) => void {
  return useContext(Navigate)
}

/** A link inside the client. With a modifier key the browser opens it as usual, for example in a new tab. */
export function PageLink({
  to,
  onClick,
  ...rest
}: Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> & { to: string }) {
  const navigate = useNavigateTo()
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event)
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    navigate(to)
  }
  return <a href={to} onClick={follow} {...rest} />
}
