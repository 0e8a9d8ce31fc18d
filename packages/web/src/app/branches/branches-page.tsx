/** What was forked from a run, from the first run down, with what each came to. */
export function BranchesPage() {
  return null
}
