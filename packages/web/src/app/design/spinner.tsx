/** Something is waited for. Whoever wants no motion gets a ring that stands still, and the words. */
export function Spinner({ label = 'Loading…' }: { readonly label?: string }) {
  return (
    <output className="inline-flex items-center gap-2 text-muted">
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" className="animate-spin">
        <circle
          cx="8"
          cy="8"
          r="6"
          fill="none"
          stroke="currentColor"
          strokeOpacity="0.3"
          strokeWidth="2"
        />
        <path d="M8 2a6 6 0 0 1 6 6" fill="none" stroke="currentColor" strokeWidth="2" />
      </svg>
      {label}
    </output>
  )
}
