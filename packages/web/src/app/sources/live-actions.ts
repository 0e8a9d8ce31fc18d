import type { BranchNodeView, HomeChanges, RunComparison } from '../../api/home.js'

/** What only a live home can do. */
export interface LiveActions extends Omit<HomeChanges, 'jobs'> {
  branches(run: string): Promise<BranchNodeView>
  compare(a: string, b: string): Promise<RunComparison>
}
