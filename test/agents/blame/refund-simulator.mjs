/** The tools as they should be. */
export default function simulate({ name, request }) {
  const [args] = Array.isArray(request) ? request : [request]
  if (name === 'look_up_order') return { payload: { day: 41 } }
  if (name === 'search_policy') return { payload: { window: 30 } }
  if (name === 'decide') return { payload: { approved: args.day <= args.window } }
  return { payload: { told: true } }
}
