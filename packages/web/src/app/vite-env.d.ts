declare const __REPOSITORY__: 'live' | 'report'
