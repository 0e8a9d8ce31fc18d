import type { ReactNode } from 'react'

/**
 * Drawn on 16 × 16 in the text colour. Hidden from screen readers, because the element around an icon
 * has a name.
 */
const icon = (shape: ReactNode) =>
  function Icon() {
    return (
      <svg
        viewBox="0 0 16 16"
        width="16"
        height="16"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
        className="shrink-0"
      >
        {shape}
      </svg>
    )
  }

export const CopyIcon = icon(
  <path d="M6 5.5V3.2c0-.4.3-.7.7-.7h6.1c.4 0 .7.3.7.7v6.1c0 .4-.3.7-.7.7h-2.3M3.2 6h6.1c.4 0 .7.3.7.7v6.1c0 .4-.3.7-.7.7H3.2a.7.7 0 0 1-.7-.7V6.7c0-.4.3-.7.7-.7Z" />,
)
export const CheckIcon = icon(<path d="m3 8.5 3.2 3.2L13 4.8" />)
export const CloseIcon = icon(<path d="m4 4 8 8m0-8-8 8" />)
export const SearchIcon = icon(<path d="M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.7-1.3L14 14" />)
export const ChevronDownIcon = icon(<path d="M3.5 6 8 10.5 12.5 6" />)
export const ChevronRightIcon = icon(<path d="M6 3.5 10.5 8 6 12.5" />)
export const ChevronUpIcon = icon(<path d="M3.5 10 8 5.5l4.5 4.5" />)
export const DiffIcon = icon(<path d="M3 4.5h6m-3-3v6M3 13h6m2.5-9.5v9" />)
export const SunIcon = icon(
  <path d="M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1.2v1.3m0 11v1.3M1.2 8h1.3m11 0h1.3M3.2 3.2l.9.9m7.8 7.8.9.9m0-9.6-.9.9m-7.8 7.8-.9.9" />,
)
export const MoonIcon = icon(<path d="M13.5 9.4A5.8 5.8 0 0 1 6.6 2.5a5.8 5.8 0 1 0 6.9 6.9Z" />)
export const ScreenIcon = icon(
  <path d="M2.7 3h10.6c.4 0 .7.3.7.7v6.6c0 .4-.3.7-.7.7H2.7a.7.7 0 0 1-.7-.7V3.7c0-.4.3-.7.7-.7ZM5.5 13.5h5" />,
)
export const DownloadIcon = icon(<path d="M8 2.5v7.7m0 0L4.8 7M8 10.2 11.2 7M3 13.5h10" />)
export const LinkIcon = icon(
  <path d="M6.6 9.4a2.6 2.6 0 0 0 3.7 0l2.5-2.5a2.6 2.6 0 0 0-3.7-3.7l-.9.9m1.2 2.5a2.6 2.6 0 0 0-3.7 0L3.2 9.1a2.6 2.6 0 0 0 3.7 3.7l.9-.9" />,
)
export const CommandIcon = icon(<path d="m3.5 4.5 3.5 3.5-3.5 3.5m5.5 0h4" />)
export const HelpIcon = icon(<path d="M5.4 6a2.6 2.6 0 1 1 4 2.2c-.9.6-1.4 1-1.4 2M8 12.9v.1" />)
export const WarningIcon = icon(<path d="M8 2.5 14 13H2L8 2.5Zm0 4v3m0 1.7v.1" />)
