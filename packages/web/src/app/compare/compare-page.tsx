/** Two runs side by side. */
export function ComparePage() {
  return null
}
